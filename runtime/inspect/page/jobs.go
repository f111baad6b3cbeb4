package page

var jobsSheet = sheet{path: "jobs", title: "Jobs", live: true, template: "jobs", fill: fillJobs}

// jobsPage is the Data of the page "Jobs": those of the last days, the newest first, also those that are done.
type jobsPage struct {
	All  []job
	More int // that are not shown
}

// jobsOnPage is how many jobs the page has.
const jobsOnPage = 100

func fillJobs(q *request) (any, error) {
	all, err := q.jobs(func(job) bool { return true })
	shown := min(len(all), jobsOnPage)
	return &jobsPage{all[:shown], len(all) - shown}, err
}
