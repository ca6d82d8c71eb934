/** What an option takes, in plain words, for the programs that people run by hand. Pure. */
import { formatDuration } from '#apimachinery/duration.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { OptionDeclaration } from '#daemon/options/option.js';

/**
 * `--nodes takes a whole number, not "abc"`.
 * @param cause The fault in the words of Go's flag libraries, for checks that belong to one option.
 */
export function plainFault(name: string, declaration: OptionDeclaration, text: string, cause: string): string {
  const { check, oneOf } = declaration;
  if (check?.(text) !== undefined) return `--${name} ${quoted(text)}: ${cause}`;
  const choice = oneOf === undefined ? undefined : `one of ${oneOf.join(', ')}`;
  return `--${name} takes ${choice ?? expected(declaration)}, not ${quoted(text)}`;
}

function expected({ type, min, unsigned }: OptionDeclaration): string {
  const least = type === 'duration' ? formatDuration(min ?? 0) : String(min);
  const limit = min === undefined ? '' : ` of at least ${least}`;
  switch (type) {
    case 'int':
      return `a whole number${unsigned === true && min === undefined ? ' of at least 0' : limit}`;
    case 'float':
      return `a number${limit}`;
    case 'bool':
      return 'true or false';
    case 'duration':
      return `a duration${limit}, such as 30s or 5m`;
    case 'map':
      return 'pairs such as a=1,b=2';
    case 'boolMap':
      return 'pairs such as A=true,B=false';
    case 'string':
      return 'a text';
    case 'strings':
    case 'stringArray':
      return 'texts separated by commas, in double quotes where they contain one';
    default:
      return type satisfies never;
  }
}
