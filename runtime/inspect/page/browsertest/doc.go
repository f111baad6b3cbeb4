// Package browsertest tests the page for operators in a real Chromium, which it looks for
// under its usual names; without one the tests are skipped, and say so. It is a module of
// its own, so that busgen does not depend on the client of the browser.
//
//	go test ./...                 // all pages, all actions, with and without JavaScript
//	go test ./... -shots FOLDER   // makes the pictures of docs/images
//
// The accessibility checks are those of axe-core: of $AXE, of Debian's package
// node-axe-core, or what "npm pack" fetches. Without it they are skipped, and the test
// says so.
package browsertest
