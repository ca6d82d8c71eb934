/**
 * The part of the plain-English rules that a program can hold: pronouns that stand in for a noun of the field, and
 * participles without their noun as names. `docs/glossary.md` has the words to use instead.
 */

export interface WordFault {
  readonly line: number;
  readonly text: string;
}

/** Names that say what happened to a value and not what it is. */
const bareParticiples: ReadonlySet<string> = new Set([
  'asked',
  'found',
  'known',
  'later',
  'made',
  'taken',
  'told',
  'wanted',
]);
const pronouns = /\b(?:whoever|whomever|somebody|nobody|anybody|someone|anyone|everybody)\b/gi;
/** The Unix account of that name, and longer names with the word in them. */
const account = /(?:user|uid|account|group) `?nobody`?|^['"`]nobody['"`]$|nobody:|nobody-|-nobody/gi;

const comment = String.raw`\/\/[^\n]*|\/\*[\s\S]*?\*\/`;
const text = String.raw`'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|` + '`(?:[^`\\\\]|\\\\.)*`';
const prose = new RegExp(`^(?:${comment}|${text})$`);
/** A regular expression, which begins where a value may begin. */
const pattern = String.raw`(?<=[(,=:!&|?[{;]\s*|return )\/(?:[^\/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/`;
/** Comments, texts, patterns, names (members of other values with their dot), and single characters between them. */
const token = new RegExp(String.raw`${comment}|${text}|${pattern}|[.#]?[A-Za-z_$][\w$]*|[\s\S]`, 'g');

/** Pronouns in the comments and the texts of a source, and names that are bare participles. */
export function wordFaults(source: string): WordFault[] {
  const faults: WordFault[] = [];
  let line = 1;
  for (const [part] of source.matchAll(token)) {
    if (bareParticiples.has(part.replace('#', ''))) faults.push({ line, text: part });
    else if (prose.test(part)) {
      for (const { 0: pronoun, index } of part.replace(account, (name) => ' '.repeat(name.length)).matchAll(pronouns)) {
        faults.push({ line: line + newlines(part.slice(0, index)), text: pronoun });
      }
    }
    line += newlines(part);
  }
  return faults;
}

function newlines(part: string): number {
  return part.split('\n').length - 1;
}
