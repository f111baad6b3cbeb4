// Package view answers questions of operators in the same way for every engine: which events and dead letters a
// filter chooses, what is on a page, which failures belong together, and which types are paused or wanted, by whatever
// names they have had. It knows no engine. An engine with tables may ask SQL instead. [engine] cannot have it, because
// typenames imports that.
package view
