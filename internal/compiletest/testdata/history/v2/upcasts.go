package v2

func UpcastShopOrderV1(old ShopOrderV1) (ShopOrder, error) {
	return ShopOrder{Order: old.Order, Total: Money{Amount: old.Total, Currency: "EUR"}}, nil
}
