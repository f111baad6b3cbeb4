// Package recipes holds the programs of docs/recipes, each in a folder of its own, and the catalogue of their events.
package recipes

//go:generate go tool busgen generate events.yaml --out generated
//go:generate go tool busgen generate rollout/before/events.yaml --out rollout/before
//go:generate go tool busgen generate rollout/after/events.yaml --out rollout/after
