package page

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

//go:embed templates/*.html
var sources embed.FS

// view is what a template gets.
type view struct {
	Title  string
	Path   string // the last part of the path of this page
	Menu   []link
	File   string // as command lines name it
	Name   string // the last part of it
	Live   bool   // a browser loads it again when something changes
	Here   string // the address of this page
	MayAct bool   // there are buttons
	Actor  string
	Note   *note // what an action has just done
	Time   time.Time
	Data   any // of the page
}

// link is an entry of the menu.
type link struct{ Path, Title string }

// Href is where the link leads to, relative to the folder of the pages.
func (l link) Href() string { return "./" + l.Path }

// templates are parsed once each, because a program may never show a page.
var templates sync.Map // name → func() *template.Template

// templateOf returns the template of a page, with the layout.
func templateOf(name string) *template.Template {
	parse, _ := templates.LoadOrStore(name, sync.OnceValue(func() *template.Template {
		return template.Must(template.New("layout.html").Funcs(functions).
			ParseFS(sources, "templates/layout.html", "templates/parts.html", "templates/"+name+".html"))
	}))
	return parse.(func() *template.Template)()
}

// functions are what templates can call, besides the fields of what they get.
var functions = template.FuncMap{
	"ago":      words.Ago, // ago .At $.Time
	"span":     words.Span,
	"number":   words.Number,
	"counted":  words.Counted, // counted 3 "event"
	"bytes":    words.Bytes,
	"rate":     words.Rate,
	"utc":      func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"machine":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) }, // for datetime
	"when":     func(t, now time.Time) moment { return moment{t, now} },
	"tone":     tone,
	"status":   func(status string) string { return strings.Replace(status, event.StatusDLQ, "dead letter", 1) },
	"failed":   attemptsFailed,
	"short":    func(text string) string { return texts.Clip(text, 200) },
	"clip":     func(text string) string { return texts.Clip(text, texts.MostBytes) },
	"buttons":  func(b button, may bool) shownButton { return shownButton{b, may} },
	"rows":     func(of any, v view) shownRows { return shownRows{of, v.Time, v.MayAct} }, // rows .Breakers $
	"standing": subscriptionHref,
	"group":    groupHref,
	"cutID":    shortID,
}

// tone is the class of a badge for a status of an event or a state of a delivery.
func tone(state string) string {
	switch state {
	case event.StatusDLQ, event.StateDead:
		return "bad"
	case event.StatePending, event.StateWaiting, event.StateHeld, event.StateRunning, event.StatusProcessing:
		return "warn"
	}
	return ""
}

// shortID is the beginning of an id that tells it apart: its time, to a quarter of a microsecond. Every search takes it.
func shortID(id uuid.UUID) string { return id.String()[:18] }

// moment is a time beside the one of the page, for the part "when".
type moment struct{ At, Now time.Time }

// shownButton is a button for who may act, or may not, for the part "button".
type shownButton struct {
	button
	May bool
}

// shownRows are rows for a part that has times or buttons.
type shownRows struct {
	Of     any
	Time   time.Time
	MayAct bool
}

// show answers with a page.
func (p *Page) show(w http.ResponseWriter, q *request, s *sheet) error {
	data, err := s.fill(q)
	var again *formAgain
	if errors.As(err, &again) {
		return p.writeAgain(w, q, &formAgain{s, again.data, again.err})
	}
	if err != nil {
		return err
	}
	return p.write(w, q, http.StatusOK, s, data)
}

// write answers with a page of this data.
func (p *Page) write(w http.ResponseWriter, q *request, status int, s *sheet, data any) (err error) {
	v := q.view(s.title, s.path)
	if v.File, err = q.target(); err != nil {
		return err
	}
	v.Name = v.File[strings.LastIndexAny(v.File, `/\`)+1:]
	v.Data, v.Live, v.Here = data, s.live && !q.still, q.here(s)
	v.Note = p.noteOf(q.URL.Query().Get("done"))
	q.giveBack() // a browser may read slowly
	return write(w, status, s.template, v)
}

// here is the address of the page that is shown, without the note of an action.
func (q *request) here(s *sheet) string {
	values := q.URL.Query()
	values.Del("done")
	if len(values) == 0 {
		return "./" + s.path
	}
	return "./" + s.path + "?" + values.Encode()
}

// view makes the view of a page without Data.
func (q *request) view(title, path string) view {
	v := view{Title: title, Path: path, MayAct: q.mayAct, Actor: q.actor, Time: q.now}
	for _, s := range sheets {
		if s.menu {
			v.Menu = append(v.Menu, link{s.path, s.title})
		}
	}
	return v
}

// write executes a template. Nothing is sent if that fails.
func write(w http.ResponseWriter, status int, name string, v view) error {
	var b bytes.Buffer
	if err := templateOf(name).Execute(&b, v); err != nil {
		return fmt.Errorf("make the page %s: %w", strings.ToLower(v.Title), err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err := w.Write(texts.Visible(b.Bytes()))
	if err != nil {
		return errGone
	}
	return nil
}
