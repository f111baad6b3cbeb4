package fingerprint

import (
	"reflect"
	"strings"
)

// ours is the import path of busgen's runtime, whose frames are in every stack.
var ours, _, _ = strings.Cut(reflect.TypeFor[normalizer]().PkgPath(), "/internal/")

// Frame returns the topmost function of the program in a stack, in the form in
// which [runtime/debug.Stack] prints it. Functions of Go's runtime, of package
// testing and of busgen's runtime do not count. Frame returns "" if no other is
// left. It has no line number, because every edit above the line changes it.
func Frame(stack string) string {
	for line := range strings.Lines(stack) {
		line = strings.TrimSuffix(line, "\n")
		arguments := strings.LastIndexByte(line, '(')
		if arguments < 0 || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "created by ") {
			continue
		}
		if function := line[:arguments]; !foreign(function) {
			return function
		}
	}
	return ""
}

// foreign reports whether a function is not the program's own.
func foreign(function string) bool {
	pkg := packageOf(function)
	switch pkg {
	case "", "runtime", "testing", ours: // panic itself has no package
		return true
	}
	return strings.HasPrefix(pkg, "runtime/") || strings.HasPrefix(pkg, "testing/") ||
		strings.HasPrefix(pkg, ours+"/") && !strings.HasSuffix(pkg, "_test")
}

// packageOf returns the import path in the full name of a function or method:
// example.org/shop.(*mailer).send is of example.org/shop.
func packageOf(function string) string {
	folder := strings.LastIndexByte(function[:len(function)-len(suffix(function))], '/') + 1
	name, _, found := strings.Cut(function[folder:], ".")
	if !found {
		return ""
	}
	return function[:folder] + name
}

// suffix returns the type arguments and what follows them; they may hold the
// paths of other packages.
func suffix(function string) string {
	if i := strings.IndexByte(function, '['); i >= 0 {
		return function[i:]
	}
	return ""
}
