/** YAML documents, one by one, so that one at fault can be named. */

export interface DocumentText {
  readonly text: string;
  /** Line of the input in which it begins, from 1. */
  readonly line: number;
}

/**
 * Splits at the lines that begin with `---`, which no document can contain (YAML 1.2, 9.1.2). Documents without a line of
 * content are left out.
 */
export function splitDocuments(text: string): DocumentText[] {
  const documents: DocumentText[] = [];
  let lines: string[] = [];
  let start = 0;
  const finish = (next: number) => {
    if (lines.some((line) => /^\s*[^\s#%]/.test(line))) {
      documents.push({ text: lines.join('\n'), line: start + 1 });
    }
    lines = [];
    start = next;
  };
  for (const [index, line] of text.split('\n').entries()) {
    const marker = /^---(?=[ \t\r]|$)/.test(line);
    if (marker) {
      finish(index);
      // What follows the marker in its line belongs to the document.
      lines.push(line.slice(3));
    } else if (!/^\.\.\.\s*$/.test(line)) lines.push(line);
    else lines.push('');
  }
  finish(0);
  return documents;
}
