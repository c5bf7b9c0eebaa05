import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;

/**
 * Confirms an order and publishes the event of it, in one transaction:
 *
 * <pre>java -cp 'target/dependency/*' src/main/java/Publish.java "$UPSTREAM_JDBC" 42 java-1</pre>
 *
 * example_orders must be there: apply ../orders.sql once.
 */
public final class Publish {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static final String PUBLISH = """
            select tidings.publish(
                event_type     => 'order.confirmed',
                event_version  => 1,
                data           => ?::json,
                aggregate_type => 'order',
                aggregate_id   => ?,
                destination    => ?::jsonb,
                occurred_at    => ?,
                expires_at     => ?,
                traceparent    => ?
            )""";

    public static void main(String[] arguments) throws Exception {
        String database = arguments[0];
        String chatId = arguments[1];
        String orderId = arguments[2];
        Properties properties = new Properties();
        properties.setProperty("ApplicationName", "shop"); // The producer that the event names.
        try (Connection connection = DriverManager.getConnection(database, properties)) {
            connection.setAutoCommit(false); // A transaction begins with its first statement.

            // The order and its event exist from the commit on, both or neither. If something is thrown before it,
            // closing the connection rolls back; with a pool, call rollback() yourself.
            UUID published = confirmOrder(connection, orderId, chatId);
            connection.commit();
            System.out.println("published " + published);

            // A transaction that is rolled back leaves nothing behind, so nothing is sent.
            UUID undone = confirmOrder(connection, orderId + "-undone", chatId);
            connection.rollback();
            System.out.println("rolled back " + undone);
        }
    }

    /** Writes the order and its event in the caller's transaction; returns the message id. */
    private static UUID confirmOrder(Connection connection, String orderId, String chatId)
            throws SQLException, JsonProcessingException {
        BigDecimal amount = new BigDecimal("19.99"); // Money is never a double.
        OffsetDateTime confirmedAt = OffsetDateTime.now(ZoneOffset.UTC);
        try (var insert = connection.prepareStatement("insert into example_orders values (?, ?, ?, ?, ?)")) {
            insert.setString(1, orderId);
            insert.setString(2, "Ada Lovelace");
            insert.setBigDecimal(3, amount);
            insert.setString(4, "EUR");
            insert.setObject(5, confirmedAt);
            insert.executeUpdate();
        }
        Map<String, ?> data = Map.of(
                "order_id", orderId,
                "customer_name", "Ada Lovelace",
                "amount", amount.toPlainString(),
                "currency", "EUR",
                "items", List.of(Map.of("sku", "TEA-1", "name", "Green tea", "quantity", 2)));
        Map<String, ?> destination = Map.of("platform", "telegram", "account", "main", "chat_id", chatId);
        try (var publish = connection.prepareStatement(PUBLISH)) {
            publish.setString(1, JSON.writeValueAsString(data));
            publish.setString(2, orderId);
            publish.setString(3, JSON.writeValueAsString(destination));
            publish.setObject(4, confirmedAt);
            publish.setObject(5, confirmedAt.plusDays(1)); // Not sent after this.
            publish.setString(6, newTraceparent());
            try (var rows = publish.executeQuery()) {
                rows.next();
                return rows.getObject(1, UUID.class);
            }
        }
    }

    /** Begins a trace; a service passes the traceparent of its current span (W3C Trace Context). */
    private static String newTraceparent() {
        byte[] ids = new byte[24];
        new SecureRandom().nextBytes(ids);
        HexFormat hex = HexFormat.of();
        return "00-" + hex.formatHex(ids, 0, 16) + "-" + hex.formatHex(ids, 16, 24) + "-01";
    }

    private Publish() {}
}
