package page

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect/page/internal/texts"
)

// incident is what a ticket gets: one file about an event, or about a group of dead letters.
// It loads nothing, links to nothing and has no script.
type incident struct {
	Style   template.CSS // of this package
	File    string
	At      time.Time
	Event   *event.EventHistory
	Group   *event.FailureGroup
	Letters []event.DeadLetter // of the group, the latest deaths
}

// mostLetters is how many dead letters of a group are in a file, and mostText how long its texts are.
const (
	mostLetters = 20
	mostText    = 20_000
)

var incidentTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("incident.html").Funcs(functions).Funcs(template.FuncMap{
		"whole":  func(text string) string { return texts.Clip(text, mostText) },
		"pretty": func(payload []byte) string { return texts.Clip(texts.Pretty(payload), mostText) },
	}).ParseFS(sources, "templates/incident.html"))
})

// exportIncident answers with a file about an event (id) or a group of dead letters (group).
func exportIncident(w http.ResponseWriter, q *request) error {
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		return err
	}
	i := incident{Style: template.CSS(style), At: q.now}
	if i.File, err = q.target(); err != nil {
		return err
	}
	name := ""
	if id := q.FormValue("group"); id != "" {
		groups, err := q.file().FailureGroups(q.Context(), event.Filter{Group: id})
		if err != nil {
			return err
		}
		if len(groups) != 1 {
			return &event.NotFoundError{Thing: "group of dead letters", Name: texts.Clip(id, texts.MostValue)}
		}
		if i.Letters, _, err = q.file().DeadLetters(q.Context(), event.Filter{Group: id}, event.Page{Limit: mostLetters}); err != nil {
			return err
		}
		i.Group, name = &groups[0], groups[0].Fingerprint
	} else {
		event, err := q.eventOf()
		if err != nil {
			return err
		}
		i.Event, name = &event, event.ID.String()
	}
	var b bytes.Buffer
	if err := incidentTemplate().Execute(&b, i); err != nil {
		return fmt.Errorf("make the file: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="incident-`+plainName(name)+`.html"`)
	if _, err := w.Write(texts.Visible(b.Bytes())); err != nil {
		return errGone
	}
	return nil
}

// plainName keeps what a name of a file may have.
func plainName(name string) string {
	return string(bytes.Map(func(c rune) rune {
		if c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' {
			return c
		}
		return -1
	}, []byte(name)))
}
