package format

// MaxSubscriptionName is how many bytes the name of a subscription may have.
const MaxSubscriptionName = 200

// MaxConcurrency is how many handlers of a subscription may run at once.
const MaxConcurrency = 1024

// MaxLimit is how many handlers a limit can let run at once, or begin within a time.
const MaxLimit = 1_000_000
