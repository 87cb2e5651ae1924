package wire

import (
	"encoding/json"
	"math"
)

// A Count is a number of tokens. What is no sensible number is 0: a reply is
// not lost for its accounting.
type Count int

func (c *Count) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) == nil && f > 0 && f < math.MaxInt32 {
		*c = Count(f)
	}
	return nil
}
