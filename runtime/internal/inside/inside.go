// Package inside is how packages of this module call what package runtime does not export. Package runtime has only
// names that programs use; what generated code needs beside them is in package gen/bind, which no program calls by hand.
package inside

// Runtime has the methods of package runtime that package gen/bind calls. That says which: here they cannot be named,
// because their parameters are types of package runtime.
var Runtime any
