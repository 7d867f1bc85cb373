import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Properties;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Produced;

/** Kafka Streams as a router: events of one topic filtered and projected into another, for ever. */
public final class StreamsRouter {
    /** An event as Jackson binds it; its names are those of the JSON. */
    record Event(
            String event_id,
            String event_ts,
            String event_type,
            String user_id,
            long title_id,
            String session_id,
            String device,
            String country,
            long position_ms) {}

    /** What is kept of it, in the order in which it is written. */
    record Start(String event_id, String user_id, long title_id, String event_ts, String country) {
        static Start of(Event event) {
            String country = event.country().toUpperCase(Locale.ROOT);
            return new Start(
                    event.event_id(), event.user_id(), event.title_id(), event.event_ts(), country);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(arguments[0]))) {
            settings.load(reader);
        }
        String source = (String) settings.remove("router.source");
        String target = (String) settings.remove("router.target");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(source, Consumed.with(Serdes.ByteArray(), json(Event.class)))
                .filter((key, event) -> event.event_type().equals("start"))
                .map((key, event) -> KeyValue.pair(event.user_id(), Start.of(event)))
                .to(target, Produced.with(Serdes.String(), json(Start.class)));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        // Its threads are no daemons: the JVM lives until it is told to end.
        streams.start();
    }

    private static <T> Serde<T> json(Class<T> type) {
        ObjectMapper mapper =
                new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
        var writer = mapper.writerFor(type);
        var reader = mapper.readerFor(type);
        return Serdes.serdeFrom(
                (topic, value) -> {
                    try {
                        return writer.writeValueAsBytes(value);
                    } catch (IOException problem) {
                        throw new SerializationException(problem);
                    }
                },
                (topic, bytes) -> {
                    try {
                        return reader.readValue(bytes);
                    } catch (IOException problem) {
                        throw new SerializationException(problem);
                    }
                });
    }
}
