// Package settings reads how events are delivered. [Settings] owns the limits and error classes that are declared,
// [Headers] the headers, and [Policies] how events inherit. It also reads
// what is said of the whole catalogue.
package settings
