// Confirms an order and publishes the event of it, in one transaction:
//   node publish.js "$UPSTREAM" 42 node-1
// example_orders must be there: apply ../orders.sql once.

import { randomBytes } from 'node:crypto';
import { argv } from 'node:process';
import pg from 'pg';

const DAY_IN_MILLISECONDS = 24 * 60 * 60 * 1000;

async function main([database, chatId, orderId]) {
  // The application's name is the producer that the event names. A transaction needs one client: with a pool, take
  // one with `pool.connect()` and never use `pool.query` in between.
  const client = new pg.Client({ connectionString: database, application_name: 'shop' });
  await client.connect();
  try {
    // The order and its event exist from the commit on, both or neither.
    const published = await inTransaction(client, () => confirmOrder(client, orderId, chatId));
    console.log('published', published);

    // A transaction that is rolled back leaves nothing behind, so nothing is sent.
    await client.query('begin');
    const undone = await confirmOrder(client, `${orderId}-undone`, chatId);
    await client.query('rollback');
    console.log('rolled back', undone);
  } finally {
    await client.end();
  }
}

async function inTransaction(client, work) {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

// Writes the order and its event in the caller's transaction; returns the message id.
async function confirmOrder(client, orderId, chatId) {
  const amount = '19.99'; // Money is text here: a JavaScript number is a float.
  const confirmedAt = new Date();
  await client.query('insert into example_orders values ($1, $2, $3, $4, $5)', [
    orderId, 'Ada Lovelace', amount, 'EUR', confirmedAt,
  ]);
  const { rows } = await client.query(
    `select tidings.publish(
       event_type     => 'order.confirmed',
       event_version  => 1,
       data           => $1,
       aggregate_type => 'order',
       aggregate_id   => $2,
       destination    => $3,
       occurred_at    => $4,
       expires_at     => $5,
       traceparent    => $6
     ) as message_id`,
    [
      JSON.stringify({
        order_id: orderId,
        customer_name: 'Ada Lovelace',
        amount,
        currency: 'EUR',
        items: [{ sku: 'TEA-1', name: 'Green tea', quantity: 2 }],
      }),
      orderId,
      JSON.stringify({ platform: 'telegram', account: 'main', chat_id: chatId }),
      confirmedAt,
      new Date(confirmedAt.getTime() + DAY_IN_MILLISECONDS), // Not sent after this.
      newTraceparent(),
    ],
  );
  return rows[0].message_id;
}

// Begins a trace; a service passes the traceparent of its current span (W3C Trace Context).
function newTraceparent() {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
}

await main(argv.slice(2));
