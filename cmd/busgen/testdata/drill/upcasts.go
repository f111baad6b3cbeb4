package events

import "strconv"

func UpcastBillSentV1(old BillSentV1) (BillSent, error) {
	cents, err := strconv.ParseInt(old.Amount, 10, 64)
	return BillSent{Cents: cents}, err
}
