//go:build linux

package postgres_test

func play(role string) int { return 2 }
