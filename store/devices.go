package store

import (
	"context"
	"errors"
	"time"

	"github.com/openmanus-go/openmanus/journal"
)

// AddDevice implements [journal.Devices].
func (db *DB) AddDevice(ctx context.Context, owner string, d journal.Device) error {
	return db.explain(db.writer.do(ctx, db.writer.jobs, &job{do: func(q *queries) error {
		_, err := q.exec("add_device", owner, d.Endpoint, d.Key, d.Auth, d.Name, d.Language, d.Added.UnixMicro())
		return err
	}}))
}

// RemoveDevice implements [journal.Devices].
func (db *DB) RemoveDevice(ctx context.Context, owner, endpoint string) error {
	return db.explain(db.writer.do(ctx, db.writer.jobs, &job{do: func(q *queries) error {
		_, err := q.exec("remove_device", owner, endpoint)
		return err
	}}))
}

// Devices implements [journal.Devices].
func (db *DB) Devices(ctx context.Context, owner string) (all []journal.Device, err error) {
	rows, err := db.query(ctx, "devices", owner)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var d journal.Device
		var added int64
		if err := rows.Scan(&d.Endpoint, &d.Key, &d.Auth, &d.Name, &d.Language, &added); err != nil {
			return nil, db.explain(err)
		}
		d.Added = time.UnixMicro(added).UTC()
		all = append(all, d)
	}
	return all, db.explain(rows.Err())
}
