// Package ledger is what sqlc has made of schema.sql and queries.sql, with nothing changed. Tests use
// it with the transactions of a bus. To make it anew, run in this folder
//
//	go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.30.0 generate
package ledger
