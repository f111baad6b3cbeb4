module github.com/busgen/busgen/internal/compiletest/gotypes

go 1.26.0

require (
	github.com/busgen/busgen v0.0.0
	github.com/gofrs/uuid/v5 v5.5.1
	github.com/google/go-cmp v0.7.0
	github.com/shopspring/decimal v1.6.0
)

require (
	github.com/dave/jennifer v1.7.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/ncruces/go-sqlite3 v0.35.6 // indirect
	github.com/ncruces/go-sqlite3-wasm/v6 v6.3.35304 // indirect
	github.com/ncruces/julianday v1.0.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/busgen/busgen => ../../..
