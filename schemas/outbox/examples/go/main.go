// Confirms an order and publishes the event of it, in one transaction:
//
//	go run . "$UPSTREAM" 42 go-1
//
// example_orders must be there: apply ../orders.sql once.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: go run . DATABASE CHAT_ID ORDER_ID")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, database, chatID, orderID string) error {
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return err
	}
	config.RuntimeParams["application_name"] = "shop" // The producer that the event names.
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)

	// The order and its event exist from the commit on, both or neither: BeginFunc commits if the function returns
	// nil, and rolls back otherwise.
	var messageID string
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		messageID, err = confirmOrder(ctx, tx, orderID, chatID)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Println("published", messageID)

	// A transaction that is rolled back leaves nothing behind, so nothing is sent.
	undo := errors.New("changed my mind")
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if messageID, err = confirmOrder(ctx, tx, orderID+"-undone", chatID); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) {
		return err
	}
	fmt.Println("rolled back", messageID)
	return nil
}

// The data of order.confirmed. pgx writes arguments of type json with encoding/json.
type orderConfirmed struct {
	OrderID      string `json:"order_id"`
	CustomerName string `json:"customer_name"`
	Amount       string `json:"amount"` // Money is text here, never a float64.
	Currency     string `json:"currency"`
	Items        []item `json:"items"`
}

type item struct {
	SKU      string `json:"sku"`
	Name     string `json:"name"`
	Quantity int32  `json:"quantity"`
}

const publish = `
	select tidings.publish(
		event_type     => 'order.confirmed',
		event_version  => 1,
		data           => @data,
		aggregate_type => 'order',
		aggregate_id   => @order_id,
		destination    => @destination,
		occurred_at    => @occurred_at,
		expires_at     => @expires_at,
		traceparent    => @traceparent
	)`

// confirmOrder writes the order and its event in the caller's transaction and returns the message id.
func confirmOrder(ctx context.Context, tx pgx.Tx, orderID, chatID string) (messageID string, err error) {
	order := orderConfirmed{
		OrderID: orderID, CustomerName: "Ada Lovelace", Amount: "19.99", Currency: "EUR",
		Items: []item{{SKU: "TEA-1", Name: "Green tea", Quantity: 2}},
	}
	confirmedAt := time.Now()
	_, err = tx.Exec(ctx, "insert into example_orders values ($1, $2, $3, $4, $5)",
		order.OrderID, order.CustomerName, order.Amount, order.Currency, confirmedAt)
	if err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, publish, pgx.NamedArgs{
		"data":        order,
		"order_id":    order.OrderID,
		"destination": map[string]string{"platform": "telegram", "account": "main", "chat_id": chatID},
		"occurred_at": confirmedAt,
		"expires_at":  confirmedAt.Add(24 * time.Hour), // Not sent after this.
		"traceparent": newTraceparent(),
	}).Scan(&messageID)
	return messageID, err
}

// newTraceparent begins a trace; a service passes the traceparent of its current span (W3C Trace Context).
func newTraceparent() string {
	var ids [24]byte
	rand.Read(ids[:]) // Never fails: see its documentation.
	return fmt.Sprintf("00-%x-%x-01", ids[:16], ids[16:])
}
