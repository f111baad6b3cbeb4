package main

import "github.com/busgen/busgen/internal/cli/clitest"

var root clitest.Command = newRoot

var (
	run, busgen, typed, does = root.Exec, root.Run, root.Typed, root.Does
	must, inFolder, read     = clitest.Must, clitest.InFolder, clitest.Text
)
