package events

import "errors"

// UpcastOrderPlacedV1 refuses amounts below 0.
func UpcastOrderPlacedV1(old OrderPlacedV1) (OrderPlaced, error) {
	if old.Amount < 0 {
		return OrderPlaced{}, errors.New("what is below 0?")
	}
	return OrderPlaced{OrderID: old.OrderID, Total: Money{Amount: old.Amount, Currency: CurrencyUSD}}, nil
}
