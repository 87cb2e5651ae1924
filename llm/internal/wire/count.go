package wire

import (
	"encoding/json"
	"math"
)

// A Count is a number of tokens in a reply. A value that is no plausible number
// counts as 0, so that a wrong count does not cost the reply.
type Count int

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Count) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) == nil && f > 0 && f < math.MaxInt32 {
		*c = Count(f)
	}
	return nil
}
