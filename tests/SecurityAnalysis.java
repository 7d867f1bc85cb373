package headrace.tests;

import java.util.Map;
import java.util.regex.Pattern;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.Tokenizer;
import org.apache.lucene.analysis.email.UAX29URLEmailTokenizer;
import org.apache.lucene.analysis.miscellaneous.RemoveDuplicatesTokenFilter;
import org.apache.lucene.analysis.pattern.PatternCaptureGroupTokenFilter;
import org.elasticsearch.index.analysis.AbstractTokenFilterFactory;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.index.analysis.TokenizerFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.elasticsearch.plugins.AnalysisPlugin;
import org.elasticsearch.plugins.Plugin;

/** What the index of API keys names, and the small distribution does not have. */
public final class SecurityAnalysis extends Plugin implements AnalysisPlugin {
    @Override
    public Map<String, AnalysisProvider<TokenFilterFactory>> getTokenFilters() {
        return Map.of(
                "pattern_capture", AnalysisPlugin.requiresAnalysisSettings((index, environment, name, settings) -> {
                    Pattern[] patterns = settings.getAsList("patterns").stream().map(Pattern::compile).toArray(Pattern[]::new);
                    return new AbstractTokenFilterFactory(name) {
                        @Override
                        public TokenStream create(TokenStream input) {
                            return new PatternCaptureGroupTokenFilter(input, true, patterns);
                        }
                    };
                }),
                "unique", (index, environment, name, settings) -> new AbstractTokenFilterFactory(name) {
                    @Override
                    public TokenStream create(TokenStream input) {
                        return new RemoveDuplicatesTokenFilter(input);
                    }
                });
    }

    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of("uax_url_email", (index, environment, name, settings) ->
                TokenizerFactory.newFactory(name, UAX29URLEmailTokenizer::new));
    }
}
