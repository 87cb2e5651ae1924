package journal

import (
	"time"

	"github.com/openmanus-go/openmanus"
)

// A SnapshotSession is a session that recorded snapshots of a workspace.
type SnapshotSession struct {
	ID   string
	Last time.Time // when it recorded the last one
}

// A RecordedSnapshot is what an event says of a workspace: an [openmanus.Snapped] or
// [openmanus.Rewound].
type RecordedSnapshot struct {
	Time  time.Time
	Trees []string        // of package snapshot, as text; the one after the event comes last
	Packs []openmanus.Ref // that the event names
}
