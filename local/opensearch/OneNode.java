import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/**
 * One OpenSearch node inside this process, on the loopback address, until it is told to end.
 * Arguments: HOME_FOLDER HTTP_PORT. Plugins that are not on the class path are left out.
 */
public final class OneNode extends Node {
    private static final List<String> PLUGINS = List.of(
        "org.opensearch.transport.Netty4Plugin",
        "org.opensearch.analysis.common.CommonAnalysisPlugin",
        "org.opensearch.painless.PainlessPlugin",
        "org.opensearch.index.reindex.ReindexPlugin",
        "org.opensearch.knn.plugin.KNNPlugin",
        "org.opensearch.neuralsearch.plugin.NeuralSearch");

    private OneNode(Environment environment, List<Class<? extends Plugin>> plugins) {
        super(environment, plugins, true);
    }

    @Override
    protected void configureNodeAndClusterIdStateListener(ClusterService clusterService) {
        // It only tags log lines with the node's id, and needs a logging set-up we don't have.
    }

    private static List<Class<? extends Plugin>> present() {
        List<Class<? extends Plugin>> found = new ArrayList<>();
        for (String name : PLUGINS) {
            try {
                found.add(Class.forName(name).asSubclass(Plugin.class));
            } catch (ClassNotFoundException missing) {
                System.err.println("without " + name);
            }
        }
        return found;
    }

    private static Environment environment(Path home, String port) throws IOException {
        for (String folder : List.of("config", "data", "logs", "modules", "plugins")) {
            Files.createDirectories(home.resolve(folder));
        }
        Settings settings = Settings.builder()
            .put("path.home", home.toString())
            .put("path.data", home.resolve("data").toString())
            .put("path.logs", home.resolve("logs").toString())
            .put("cluster.name", "custody-local")
            .put("node.name", "one")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", port)
            .put("transport.port", "0")
            // A laptop's disk is often nearly full, and the heap is small and shared with nothing.
            .put("cluster.routing.allocation.disk.threshold_enabled", "false")
            .put("indices.breaker.total.use_real_memory", "false")
            .build();
        return InternalSettingsPreparer.prepareEnvironment(
            settings, Map.of(), home.resolve("config"), () -> "one");
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]).toAbsolutePath();
        OneNode node = new OneNode(environment(home, arguments[1]), present());
        CountDownLatch told = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (IOException problem) {
                problem.printStackTrace();
            } finally {
                told.countDown();
            }
        }));
        node.start();
        System.out.println("listening on 127.0.0.1:" + arguments[1]);
        told.await();
    }
}
