package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
)

// Watermill has Pub/Subs for SQLite, in modules that were not to be had from the Go module
// proxy when this was written. So Watermill's Pub/Sub for SQL databases is measured here, with
// a schema of this file for SQLite. Like those for SQLite it reads pages, keeps an
// offset per consumer group, and holds no transaction while handlers run. It takes no lock of a
// group, so it is for one process, and a bit faster than they are.
const watermillTopic = "orders"

// watermillPage is how many messages a look takes: the default of Watermill's own schemas.
const watermillPage = 100

type watermillSchema struct{}

func (watermillSchema) SchemaInitializingQueries(wsql.SchemaInitializingQueriesParams) ([]wsql.Query, error) {
	return []wsql.Query{{Query: `CREATE TABLE IF NOT EXISTS watermill_orders (
		"offset" INTEGER PRIMARY KEY AUTOINCREMENT,
		uuid     TEXT NOT NULL,
		created  TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
		payload  BLOB NOT NULL,
		metadata TEXT NOT NULL)`}}, nil
}

func (watermillSchema) InsertQuery(p wsql.InsertQueryParams) (wsql.Query, error) {
	var args []any
	for _, m := range p.Msgs {
		metadata, err := json.Marshal(m.Metadata)
		if err != nil {
			return wsql.Query{}, err
		}
		args = append(args, m.UUID, []byte(m.Payload), string(metadata))
	}
	rows := strings.TrimSuffix(strings.Repeat("(?,?,?),", len(p.Msgs)), ",")
	return wsql.Query{Query: "INSERT INTO watermill_orders (uuid, payload, metadata) VALUES " + rows, Args: args}, nil
}

func (watermillSchema) SelectQuery(p wsql.SelectQueryParams) (wsql.Query, error) {
	return wsql.Query{Query: fmt.Sprintf(`SELECT "offset", uuid, payload, metadata FROM watermill_orders
		WHERE "offset" > coalesce((SELECT acked FROM watermill_offsets WHERE consumer_group = ?), 0)
		ORDER BY "offset" LIMIT %d`, watermillPage), Args: []any{p.ConsumerGroup}}, nil
}

func (watermillSchema) UnmarshalMessage(p wsql.UnmarshalMessageParams) (wsql.Row, error) {
	var r wsql.Row
	if err := p.Row.Scan(&r.Offset, &r.UUID, &r.Payload, &r.Metadata); err != nil {
		return wsql.Row{}, err
	}
	r.Msg = message.NewMessage(string(r.UUID), r.Payload)
	return r, json.Unmarshal(r.Metadata, &r.Msg.Metadata)
}

func (watermillSchema) SubscribeIsolationLevel() sql.IsolationLevel { return sql.LevelDefault }

// watermillOffsets keeps the offset of each consumer group, with one synced commit per page.
type watermillOffsets struct{}

func (watermillOffsets) SchemaInitializingQueries(wsql.OffsetsSchemaInitializingQueriesParams) ([]wsql.Query, error) {
	return []wsql.Query{{Query: `CREATE TABLE IF NOT EXISTS watermill_offsets (
		consumer_group TEXT PRIMARY KEY, acked INTEGER NOT NULL) WITHOUT ROWID`}}, nil
}

func (watermillOffsets) AckMessageQuery(p wsql.AckMessageQueryParams) (wsql.Query, error) {
	return wsql.Query{Query: `INSERT INTO watermill_offsets (consumer_group, acked) VALUES (?, ?)
		ON CONFLICT DO UPDATE SET acked = excluded.acked`, Args: []any{p.ConsumerGroup, p.LastRow.Offset}}, nil
}

func (watermillOffsets) ConsumedMessageQuery(wsql.ConsumedMessageQueryParams) (wsql.Query, error) {
	return wsql.Query{}, nil
}

func (watermillOffsets) NextOffsetQuery(wsql.NextOffsetQueryParams) (wsql.Query, error) {
	return wsql.Query{}, nil // it is in SelectQuery
}

func (watermillOffsets) BeforeSubscribingQueries(wsql.BeforeSubscribingQueriesParams) ([]wsql.Query, error) {
	return nil, nil
}

// watermillDB runs each statement in a transaction of its own. Watermill begins one before it reads a
// page and commits it when the page is handled, which in SQLite would keep all others from writing.
type watermillDB struct{ wsql.StdSQLBeginner }

func (d watermillDB) BeginTx(context.Context, *sql.TxOptions) (wsql.Tx, error) { return d, nil }
func (watermillDB) Commit() error                                              { return nil }
func (watermillDB) Rollback() error                                            { return nil }

type watermillSystem struct {
	db          *sql.DB
	s           setup
	publisher   *wsql.Publisher
	subscribers []*wsql.Subscriber
	running     sync.WaitGroup
}

func openWatermill(ctx context.Context, path string, s setup) (system, error) {
	db, err := openDatabase(modernc, path, 1)
	if err != nil {
		return nil, err
	}
	w := &watermillSystem{db: db, s: s}
	beginner := watermillDB{wsql.StdSQLBeginner{SQLBeginner: db}}
	// The publisher gets the database itself: with a transaction it makes no tables.
	w.publisher, err = wsql.NewPublisher(beginner.StdSQLBeginner, wsql.PublisherConfig{
		SchemaAdapter: watermillSchema{}, AutoInitializeSchema: true,
	}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	for i := range s.subscribers {
		config := wsql.SubscriberConfig{
			ConsumerGroup: fmt.Sprintf("group-%d", i), InitializeSchema: true,
			SchemaAdapter: watermillSchema{}, OffsetsAdapter: watermillOffsets{},
		}
		if s.tuned {
			config.PollInterval = time.Millisecond
		}
		subscriber, err := wsql.NewSubscriber(beginner, config, watermill.NopLogger{})
		if err != nil {
			return nil, err
		}
		if err := subscriber.SubscribeInitialize(watermillTopic); err != nil {
			return nil, err
		}
		w.subscribers = append(w.subscribers, subscriber)
	}
	return w, nil
}

func (w *watermillSystem) publish(ctx context.Context, number int64) error {
	data, err := encoded(number)
	if err != nil {
		return err
	}
	m := message.NewMessage(watermill.NewUUID(), data)
	m.SetContext(ctx)
	return w.publisher.Publish(watermillTopic, m)
}

func (w *watermillSystem) start(ctx context.Context) error {
	for i, subscriber := range w.subscribers {
		messages, err := subscriber.Subscribe(ctx, watermillTopic)
		if err != nil {
			return err
		}
		w.running.Go(func() {
			for m := range messages {
				number, err := decoded(m.Payload)
				if err == nil {
					err = w.s.handle(m.Context(), i, number)
				}
				if err == nil {
					m.Ack()
				} else {
					m.Nack()
				}
			}
		})
	}
	return nil
}

func (w *watermillSystem) close() error {
	for _, s := range w.subscribers {
		s.Close()
	}
	w.running.Wait()
	return w.db.Close()
}

func multiplyWatermill(ctx context.Context, path string, n int) error {
	return copyRow(ctx, path, "watermill_orders", n, map[string]string{"offset": ""},
		`UPDATE watermill_offsets SET acked = (SELECT max("offset") FROM watermill_orders)`)
}
