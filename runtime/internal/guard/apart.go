package guard

// Apart calls a function on a goroutine of its own and waits for it. It reports false if the function ends
// that goroutine instead of returning. Panics are the function's own business.
func Apart[T any](f func() T) (result T, ok bool) {
	returned := make(chan T, 1)
	go func() {
		defer close(returned)
		returned <- f()
	}()
	result, ok = <-returned
	return result, ok
}
