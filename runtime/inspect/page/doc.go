// Package page is a page for operators, an [http.Handler] over an [inspect.File]: how the
// bus is doing, in words and numbers, and buttons for what an operator does about it.
//
//	file, err := inspect.Open(ctx, "shop.db")
//	operators, err := page.New(file, page.WithActions(func(r *http.Request) (string, bool) {
//		user, ok := session(r) // of the program
//		return user.Name, ok && user.MayOperate
//	}))
//	mux.Handle("/operators/", operators)
//
// The command "busgen inspect shop.db" serves the same page for a file of any program,
// also of one that is dead.
//
// # Mounting
//
// Mount it below any path that ends with a slash, with or without http.StripPrefix and
// behind any proxy: it needs no configuration, because all pages are in one folder. The
// last part of a path says which page it is (problems, event?id=…), and all links are
// relative to that folder. Nothing is loaded from elsewhere, and all works without
// JavaScript.
//
// The page shows payloads and errors to everyone who reaches it, so mount it behind the
// authentication of the program. Whoever does not mount it does not link it.
//
// # Safety
//
// Without [WithActions] the page changes nothing, and shows the command lines instead of the
// buttons. With it, each action is a POST that passes one function, act: it must come from
// the page itself (http.CrossOriginProtection) and have an actor, whose name the audit gets.
//
// A strict Content-Security-Policy forbids inline script and style. Texts of payloads, names
// and errors are escaped twice: html/template escapes markup, and then every character
// that does not show itself, such as a mark that changes the direction of writing, is
// written as an escape in the whole answer (package texts). A huge text is cut, with a link
// to all of it.
//
// # For contributors: what is where
//
// This package has the pages and the actions, one file for each, and what serves them: page.go and routes.go the
// requests, render.go the templates, act.go the actions, counts.go what requests read. What needs no request is in
// packages below internal, and each of them imports only those before it:
//
//   - refusal: errors with their status of HTTP.
//   - texts: texts that are cut, made visible, sealed and read.
//   - health: how the bus is doing, in sentences.
//   - chart: curves and the time axis.
//   - looks: the files of requests, and counts that are kept.
//   - typeinfo: what catalogues say about event types.
//   - job: what is done to many dead letters in the background.
//
// # For contributors: adding a page
//
// The table of pages is in routes.go. To add one:
//
//  1. Write templates/NAME.html, which defines "main". It gets a [view]; what is special for
//     the page is in its field Data. parts.html has what pages share: "button" for an action
//     with its command line, "long" for a text that may be huge, "when" for a time.
//  2. Write NAME.go with a variable of type [sheet]: the last part of its path, its title,
//     whether it is in the menu, the template and the function that fills Data. An error of
//     package inspect that the function returns becomes an error page with the right
//     status; for what is wrong with the address return [badRequest].
//  3. Add the variable to the table.
//
// Actions, texts that links lead to and other answers than pages are in tables of the
// same kind, beside the sheets: see [action], [text] and [answer]. now.go has examples.
//
// A template must not have style="…", onclick="…", <style> or <script>, which the policy
// would block. Use the classes of assets/style.css; in SVG, attributes.
package page
