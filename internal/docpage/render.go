package docpage

import (
	"bytes"
	_ "embed"
	"html/template"

	"github.com/busgen/busgen/internal/catalog"
)

//go:embed page.html
var pageHTML string

//go:embed style.css
var style string

//go:embed script.js
var script string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":  func() template.CSS { return template.CSS(style) }, // our own files
	"script": func() template.JS { return template.JS(script) },
	"add":    func(a, b int) int { return a + b },
}).Parse(pageHTML))

// Render returns the page of a catalogue. Its title is the name of the package
// unless one is given.
func Render(c *catalog.Catalogue, title string) ([]byte, error) {
	if title == "" {
		title = c.Package.V
	}
	var b bytes.Buffer
	if err := page.Execute(&b, viewOf(c, title)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
