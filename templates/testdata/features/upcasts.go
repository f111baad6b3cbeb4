package features

import "errors"

// What the user of the catalogue writes.

func UpcastShapeChangedV1(old ShapeChangedV1) (ShapeChangedV2, error) {
	if old.X < 0 {
		return ShapeChangedV2{}, errors.New("it is left of everything")
	}
	return ShapeChangedV2{Corner: ShapeChangedV2Corner{X: old.X, Y: old.Y}}, nil
}

func UpcastShapeChangedV2(old ShapeChangedV2) (ShapeChanged, error) {
	return ShapeChanged{Corners: []Point{{X: old.Corner.X, Y: old.Corner.Y}}}, nil
}
