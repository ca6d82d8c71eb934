/** Finds the command, parses its options, runs it, and maps the outcome to an exit code. */
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { Command, Invocation, Values } from '#cmd/orchctl/commands/command.js';
import { globalOptions } from '#cmd/orchctl/commands/options.js';
import { apiOf, connectionOf } from '#cmd/orchctl/connect.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { Terminal } from '#cmd/orchctl/terminal/terminal.js';
import { helpText } from '#daemon/options/help.js';
import { OptionsError, type OptionTable } from '#daemon/options/option.js';
import { type ParsedOptions, parseOptions } from '#daemon/options/parse.js';

const program = 'orchctl';

/** Exit codes: 0 success, 1 failure, 2 wrong usage; commands may add their own (exec: the program's). */
export async function run(commands: readonly Command[], argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await dispatch(commands, argv, terminal);
  } catch (error) {
    if (terminal.signal.aborted) return 130;
    return report(error, terminal);
  }
}

async function dispatch(commands: readonly Command[], argv: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = argv;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    const command = commands.find((c) => c.name === rest[0]);
    terminal.out.write(command === undefined ? overview(commands) : commandHelp(command));
    return 0;
  }
  const command = commands.find((c) => c.name === (name === '--version' ? 'version' : name));
  if (command === undefined) {
    throw new UsageError(`unknown command "${name}"${suggestion(commands, name)}; see all with: ${program} help`);
  }
  const end = rest.indexOf('--');
  const own = end < 0 ? rest : rest.slice(0, end);
  const table: OptionTable = { ...globalOptions, ...command.options };
  const parsed = parseOptions(table, own, { program: `${program} ${command.name}`, allowArgs: true });
  if (parsed.kind === 'help') {
    terminal.out.write(commandHelp(command));
    return 0;
  }
  if (parsed.kind === 'version') throw new UsageError(`use: ${program} version`);
  for (const warning of parsed.warnings) terminal.err.write(`Warning: ${warning}\n`);
  return invoke(command, parsed, end < 0 ? [] : rest.slice(end + 1), terminal);
}

async function invoke(
  command: Command,
  parsed: ParsedOptions<OptionTable>,
  trailing: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const values = valuesOf(parsed);
  const isAboutUser = command.isAboutUser?.({ args: parsed.args, values }) === true;
  const connecting = isAboutUser ? withoutUser(values) : values;
  // A missing configuration matters only to commands that contact the server.
  let failure: unknown = new Error(`${command.name} works without a server`);
  const connection =
    command.offline === true
      ? undefined
      : await connectionOf(connecting, terminal).catch((error: unknown) => {
          failure = error;
          return undefined;
        });
  const api = connection === undefined ? undefined : apiOf(connection, values, terminal);
  const invocation: Invocation = {
    ...terminal,
    args: parsed.args,
    trailing,
    values,
    namespace: values.string('namespace') ?? connection?.namespace ?? 'default',
    get api() {
      if (api === undefined) throw failure;
      return api;
    },
  };
  try {
    return (await command.run(invocation)) ?? 0;
  } finally {
    await api?.close();
  }
}

/** The options without those that name a user to impersonate. */
function withoutUser(values: Values): Values {
  const isHidden = (name: string) => name === 'as' || name === 'as-group' || name === 'as-uid';
  return {
    ...values,
    string: (name) => (isHidden(name) ? undefined : values.string(name)),
    strings: (name) => (isHidden(name) ? [] : values.strings(name)),
    isSet: (name) => !isHidden(name) && values.isSet(name),
  };
}

function valuesOf(parsed: ParsedOptions<OptionTable>): Values {
  const value = (name: string): unknown => parsed.values[name];
  return {
    string: (name) => {
      const text = value(name);
      return typeof text === 'string' ? text : undefined;
    },
    strings: (name) => {
      const list = value(name);
      return Array.isArray(list) ? (list as string[]) : [];
    },
    bool: (name) => value(name) === true,
    number: (name) => {
      const number = value(name);
      return typeof number === 'number' ? number : 0;
    },
    isSet: (name) => parsed.given.has(name),
  };
}

function report(error: unknown, { err }: Terminal): number {
  if (error instanceof UsageError || error instanceof OptionsError) {
    err.write(`error: ${error.message}\n`);
    return 2;
  }
  if (error instanceof CommandError) {
    err.write(`error: ${error.message}\n`);
    return error.exitCode;
  }
  const status = statusOf(error);
  if (status?.reason !== undefined && status.reason !== '') {
    err.write(`Error from server (${status.reason}): ${status.message ?? ''}\n`);
    return 1;
  }
  err.write(`error: ${messageOf(error)}\n`);
  return 1;
}

function overview(commands: readonly Command[]): string {
  const width = Math.max(...commands.map((c) => c.name.length)) + 3;
  const lines = commands.map((c) => `  ${c.name.padEnd(width)}${c.summary}`);
  return `orchctl talks to an orch cluster.\n\nUsage:\n  ${program} COMMAND [flags]\n\nCommands:\n${lines.join('\n')}\n\nDetails of a command: ${program} COMMAND --help\n`;
}

function commandHelp(command: Command): string {
  const examples = command.examples.map((line) => `  ${line}`).join('\n');
  const options: OptionTable = command.offline === true ? command.options : { ...globalOptions, ...command.options };
  return helpText(options, {
    program: `${program} ${command.name} ${command.usage}`.trim(),
    description: `${command.summary}.\n\nExamples:\n${examples}`,
  });
}

/** A command with a similar beginning. */
function suggestion(commands: readonly Command[], name: string): string {
  const near = commands.find((c) => c.name.startsWith(name.slice(0, 3)) || name.startsWith(c.name.slice(0, 3)));
  return near === undefined ? '' : `, did you mean "${near.name}"?`;
}
