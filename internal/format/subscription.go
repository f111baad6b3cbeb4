package format

// MaxSubscriptionName is how many bytes the name of a subscription may have.
const MaxSubscriptionName = 200
