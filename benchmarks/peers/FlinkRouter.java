import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/** Flink SQL in a local environment: settings in one file, then files of one statement each. */
public final class FlinkRouter {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        try (var reader = Files.newBufferedReader(Path.of(arguments[0]))) {
            settings.load(reader);
        }
        Map<String, String> named = settings.stringPropertyNames().stream()
                .collect(Collectors.toMap(name -> name, settings::getProperty));
        TableEnvironment tables = TableEnvironment.create(EnvironmentSettings.newInstance()
                .inStreamingMode()
                .withConfiguration(Configuration.fromMap(named))
                .build());
        TableResult last = null;
        for (int number = 1; number < arguments.length; number++) {
            last = tables.executeSql(Files.readString(Path.of(arguments[number])));
        }
        // The last one routes for ever, and throws what ends it.
        last.await();
    }
}
