package lawtest_test

import (
	"reflect"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/server/a2a"
)

// Any events in any order are told as tasks that begin once, end at most once, and of
// which only the last one goes on; what a subscriber was told adds up to the task.
func FuzzA2A(f *testing.F) {
	addNoise(f)
	f.Fuzz(func(t *testing.T, noise []byte) {
		st := &story{bytes: noise}
		defer st.log(t)
		p := &a2a.Projector{Session: "s-1", Context: "c"}
		told := make(map[string]a2a.Status)
		for b := openmanus.Body(openmanus.Opened{}); ; b = st.body(&p.State) {
			if ev, ok := st.event(b); ok {
				for _, e := range p.Apply(ev) {
					if u := e.Status; u != nil {
						if told[u.Task].State.Ended() {
							t.Fatalf("%s goes on after %s", u.Task, told[u.Task].State)
						}
						told[u.Task] = u.Status
					}
				}
			}
			for i, task := range p.Tasks {
				session, _, ok := a2a.SessionOf(task.ID)
				if !ok || session != "s-1" || i < len(p.Tasks)-1 && !task.Status.State.Ended() && told[task.ID].State == a2a.Working {
					t.Fatalf("task %d of %d: %+v", i, len(p.Tasks), task)
				}
				if s, ok := told[task.ID]; ok && !reflect.DeepEqual(s, task.Status) {
					t.Fatalf("told %+v, and it is %+v", s, task.Status)
				}
			}
			if len(st.bytes) == 0 {
				return
			}
		}
	})
}
