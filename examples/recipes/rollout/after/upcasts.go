package after

// UpcastOrderPlacedV1 reads what the first release has stored.
func UpcastOrderPlacedV1(old OrderPlacedV1) (OrderPlaced, error) {
	return OrderPlaced{Number: old.Number, Amount: old.Cents, Currency: "EUR"}, nil
}
