package events

import "strings"

// This file is written by hand. It converts stored payloads of older versions.

// UpcastOrderCancelledV1 finds the reason in the text of version 1.
func UpcastOrderCancelledV1(old OrderCancelledV1) (OrderCancelled, error) {
	reason := CancelReasonCustomerRequest
	if old.Reason != nil {
		switch text := strings.ToLower(*old.Reason); {
		case strings.Contains(text, "stock"):
			reason = CancelReasonOutOfStock
		case strings.Contains(text, "declined"):
			reason = CancelReasonPaymentDeclined
		}
	}
	return OrderCancelled{OrderID: old.OrderID, Reason: reason, Comment: old.Reason}, nil
}
