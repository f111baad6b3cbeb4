package busprom

import _ "embed"

// Dashboard is the JSON of a Grafana dashboard: backlogs, what comes of attempts, how long
// handlers take, failures, breakers, the file. Import it, or let Grafana provision it.
//
//go:embed dashboard.json
var Dashboard string
