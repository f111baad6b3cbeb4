package main

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/cli/command"
)

var root clitest.Command = func() *cobra.Command { return command.New() }

var (
	run, busgen, typed, does = root.Exec, root.Run, root.Typed, root.Does
	must, inFolder, read     = clitest.Must, clitest.InFolder, clitest.Text
)
