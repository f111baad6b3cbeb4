package page

import (
	"net/http"
)

// sheets are the pages, in the order of the menu. Each is a variable in the file of its name.
var sheets []*sheet

func init() { // a variable would refer to itself: the layout shows the menu
	sheets = []*sheet{
		&nowSheet,
		&problemsSheet,
		&groupSheet,
		&letterSheet,
		&eventSheet,
		&eventsSheet,
		&publishSheet,
		&subscriptionsSheet,
		&subscriptionSheet,
		&retriesSheet,
		&catalogueSheet,
		&typeSheet,
		&auditSheet,
		&planSheet,
		&replayPlanSheet,
		&pausePlanSheet,
		&jobsSheet,
		&jobSheet,
		&limitsSheet,
		&schedulesSheet,
	}
}

// actions are what buttons do, by the last part of the path that they post to.
var actions = map[string]action{
	"pause":  pauseAction,
	"resume": resumeAction,

	"pause-types":   pauseTypesAction,
	"resume-types":  resumeTypesAction,
	"close-breaker": closeBreakerAction,

	"start-job":      startJobAction,
	"resume-job":     resumeJobAction,
	"stop-job":       stopJobAction,
	"retry-letter":   retryLetterAction,
	"discard-letter": discardLetterAction,
	"edit-letter":    editLetterAction,

	"check-event":   checkEventAction,
	"publish-event": publishEventAction,

	"retry-delivery":   onDelivery(retryDelivery),
	"discard-dead":     onDelivery(discardLetter),
	"discard-delivery": onDelivery(discardDelivery),
	"undiscard":        onDelivery(undiscard),
	"replay-event":     onDelivery(replayEvent),
	"replay":           replayAction,
	"try-now":          tryNowAction,
}

// wholeTexts are what the page "text" shows, by the parameter "of": whole texts that pages have cut.
var wholeTexts = map[string]text{
	"breaker": breakerText,
	"group":   groupText,
	"letter":  letterText,
	"job":     jobText,
	"pause":   pauseText,

	"payload":  payloadText,
	"row":      rowText,
	"metadata": metadataText,
	"reason":   reasonText,
	"attempt":  attemptText,
	"step":     stepText,
	"audit":    auditText,
}

// answers are for what is no page, by the last part of the path.
var answers = map[string]answer{
	"text":          showText,
	"live":          live,
	"style.css":     asset("style.css", "text/css; charset=utf-8"),
	"script.js":     asset("script.js", "text/javascript; charset=utf-8"),
	"icon.svg":      asset("icon.svg", "image/svg+xml"),
	"incident.html": exportIncident,
}

// sheet is a page.
type sheet struct {
	path     string // the last part of its path; empty for the first page
	title    string
	menu     bool   // it is in the menu
	live     bool   // browsers load it again when something changes
	template string // the name of a file in templates, without .html

	// fill returns the Data of its view. The function gets what it needs from the address:
	// q.FormValue("id").
	fill func(q *request) (data any, err error)
}

// answer answers a GET or HEAD that is for no page. An error becomes an error page if
// nothing was written.
type answer func(w http.ResponseWriter, q *request) error

// sheetAt returns the page at a last part of a path, or nil.
func sheetAt(name string) *sheet {
	for _, s := range sheets {
		if s.path == name {
			return s
		}
	}
	return nil
}
