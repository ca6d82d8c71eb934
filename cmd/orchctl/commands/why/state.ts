/** The scheduler's code and its state, here. */
import { readFileSync } from 'node:fs';
import { messageOf } from '#apimachinery/errors/message.js';
import type { RestClient } from '#client/rest/rest-client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import { parseOptions } from '#daemon/options/parse.js';
import type { AskedExtenders } from '#scheduler/explain/extenders.js';
import { listedSnapshot } from '#scheduler/explain/listed-snapshot.js';
import { ClusterCopy, Pace, type Snapshot } from '#scheduler/explain/snapshot.js';
import { HttpExtender } from '#scheduler/extenders/http-extender.js';
import type { Profile } from '#scheduler/framework/profile.js';
import { pluginsOfModules, resolveScheduler } from '#scheduler/options/config/resolve.js';
import { schedulerOptions } from '#scheduler/options/options.js';
import { makeProfiles } from '#scheduler/plugins/make-profiles.js';
import { defaultContext } from '#scheduler/plugins/registry.js';

export interface State {
  readonly client: RestClient;
  readonly profiles: readonly Profile[];
  /** Told of and not asked: they decide with the scheduler, wherever that runs. */
  readonly extenders: AskedExtenders;
  readonly snapshot: Snapshot;
  /** A copy to work on. */
  copy(snapshot: Snapshot): Promise<ClusterCopy>;
}

export async function stateOf({ api, clock, signal, values }: Invocation): Promise<State> {
  const { dialect } = await api.catalog();
  const table = schedulerOptions(dialect);
  const parsed = parseOptions(table, [], { program: dialect.components.scheduler, allowArgs: false });
  if (parsed.kind !== 'run') throw new Error('no options were parsed to something else');
  const source = values.string('scheduler-config') ?? '';
  const file = source === '' ? undefined : { source, text: textOf(source) };
  const morePlugins = file === undefined ? [] : await pluginsOfModules(file);
  const { settings } = resolveScheduler(parsed, {
    table,
    dialect,
    morePlugins,
    ...(file === undefined ? {} : { file }),
  });
  const client = await api.client(dialect);
  const snapshot = await listedSnapshot(client, signal);
  const pace = new Pace(clock, signal);
  return {
    client,
    profiles: makeProfiles(settings, dialect, defaultContext, morePlugins),
    extenders: { extenders: settings.extenders.map((each) => new HttpExtender(each, { clock, env: {} })) },
    snapshot,
    copy: (of) => ClusterCopy.of(of, dialect, pace),
  };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new CommandError(`cannot read ${path}: ${messageOf(error)}`);
  }
}
