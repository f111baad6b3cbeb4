// Package sdktest tests package cloudevents with the official SDK of CloudEvents as the client and as the
// receiver. It is a module of its own, so that nothing else needs the SDK.
package sdktest
