import type { Layout } from '#cmd/orch/context/layout.js';
import type { joinOptions } from '#cmd/orch/options.js';
import type { ProgressSink } from '#cmd/orch/terminal/progress.js';
import type { OptionValues } from '#daemon/options/option.js';

/** What a machine joins with. */
export interface JoinSurroundings {
  readonly options: OptionValues<typeof joinOptions>;
  readonly layout: Layout;
  readonly sink: ProgressSink;
}
