package v3

import "strconv"

func UpcastOrderPlacedV1(old OrderPlacedV1) (OrderPlacedV2, error) {
	return OrderPlacedV2{Order: old.Order, Total: Money{Amount: old.Total, Currency: "EUR"}}, nil
}

func UpcastOrderPlacedV2(old OrderPlacedV2) (OrderPlaced, error) {
	number, err := strconv.Atoi(old.Order)
	return OrderPlaced{Number: number, Total: old.Total}, err
}
