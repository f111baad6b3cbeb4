// Package recipes holds the programs of docs/recipes, each in a folder of its own, and the catalogue of their events.
package recipes

//go:generate go tool busgen generate events.yaml --out generated
