/** Option names of the other dialect's daemons, so that command lines written for those work here too. */
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';

/** Name in the table → the part of it that the other dialect spells in its own way. */
function spellings(dialect: Dialect): readonly (readonly [string, string])[] {
  const short = dialect.components.apiServer.split('-')[0] ?? '';
  const agent = dialect.components.nodeAgent;
  return [
    [`--${short}config`, '--orchconfig'],
    [`--${short}-api-`, '--orch-api-'],
    [`--authentication-${short}config`, '--authentication-orchconfig'],
    [`--authorization-${short}config`, '--authorization-orchconfig'],
    [`--cluster-signing-${short}-apiserver-client-`, '--cluster-signing-orch-apiserver-client-'],
    [`--cluster-signing-${agent}-`, '--cluster-signing-nodeagent-'],
  ];
}

const rows = [orchDialect, kubernetesDialect].flatMap(spellings).filter(([other, ours]) => other !== ours);

/** The arguments with names of the option table. Values, and what follows `--`, stay as they are. */
export function normalizeSpelling(argv: readonly string[]): string[] {
  const end = argv.indexOf('--');
  return argv.map((argument, index) => {
    if (end >= 0 && index > end) return argument;
    const dashed = argument.startsWith('--') ? dashes(argument) : argument;
    const row = rows.find(([other]) =>
      other.endsWith('-') ? dashed.startsWith(other) : dashed === other || dashed.startsWith(`${other}=`),
    );
    return row === undefined ? argument : row[1] + dashed.slice(row[0].length);
  });
}

/** Underscores in names are dashes. */
function dashes(argument: string): string {
  const at = argument.indexOf('=');
  const name = at < 0 ? argument : argument.slice(0, at);
  return name.replaceAll('_', '-') + (at < 0 ? '' : argument.slice(at));
}
