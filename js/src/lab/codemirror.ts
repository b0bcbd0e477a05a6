/** The parts of CodeMirror and Lezer that are used here: https://codemirror.net/docs/ref/, https://github.com/lezer-parser/markdown */

export interface Text {
  sliceString(from: number, to: number): string;
}

export interface EditorState {
  readonly doc: Text;
}

export interface Transaction {
  readonly startState: EditorState;
  readonly newDoc: Text;
}

export type Extension = object;

export interface Facet<T> {
  of(value: T): Extension;
}

/** A part of an editor's extensions that can be replaced. */
export interface Compartment {
  of(extension: Extension): Extension;
  get(state: EditorState): Extension | undefined;
  reconfigure(extension: Extension): object;
}

export interface EditorView {
  readonly state: EditorState;
  readonly dom: HTMLElement;
  dispatch(transaction: object): void;
}

/** A language: its data, and the parser that makes its syntax trees. */
export interface Language {
  readonly data: object;
  readonly parser: MarkdownParser;
}

export interface MarkdownParser {
  configure(extension: MarkdownConfig): MarkdownParser;
}

export interface ParserInput {
  readonly length: number;
}

export interface SyntaxElement {
  readonly from: number;
}

export interface BlockContext {
  readonly lineStart: number;
  elt(type: string, from: number, to: number, children?: readonly SyntaxElement[]): SyntaxElement;
  addElement(element: SyntaxElement): void;
  nextLine(): boolean;
}

export interface InlineContext {
  readonly offset: number;
  readonly end: number;
  slice(from: number, to: number): string;
  elt(type: string, from: number, to: number): SyntaxElement;
  addElement(element: SyntaxElement): number;
}

export interface MarkdownConfig {
  defineNodes: { name: string; block?: boolean; style?: object }[];
  parseBlock: {
    name: string;
    before: string;
    parse: (context: BlockContext, line: { readonly text: string }) => boolean;
  }[];
  parseInline: {
    name: string;
    before: string;
    parse: (context: InlineContext, next: number, at: number) => number;
  }[];
}

/** The tags that a theme of the editor has colours for. */
export interface Tags {
  readonly operator: object;
  readonly attributeName: object;
  readonly string: object;
  readonly variableName: object;
  special(tag: object): object;
  standard(tag: object): object;
}

/** The modules of CodeMirror, of which the page has one instance each. */
export interface CodeMirror {
  Compartment: new () => Compartment;
  EditorState: {
    transactionExtender: Facet<(transaction: Transaction) => { effects: object } | null>;
  };
  Prec: { highest(extension: Extension): Extension };
  EditorView: { readonly lineWrapping: Extension };
  ViewPlugin: { define(create: (view: EditorView) => { update(): void; destroy(): void }): Extension };
  NodeType: { define(spec: { id: number; name: string; top: boolean }): object };
  Tree: new (type: object, children: object[], positions: number[], length: number) => object;
  Parser: new () => { createParse(input: ParserInput, fragments: object, ranges: object): object };
  parseMixed(
    nest: (node: { readonly from: number; readonly to: number }) => { parser: object; overlay: object[] },
  ): (parse: object, input: ParserInput, fragments: object, ranges: object) => object;
  Language: new (data: object, parser: object, extensions: object[], name: string) => Language;
  language: Facet<Language>;
  tags: Tags;
}

/** The tokens of JupyterLab's registries. */
export interface RegistryTokens {
  IEditorExtensionRegistry: object;
  IEditorLanguageRegistry: object;
}

/** JupyterLab's registries of languages and of extensions of the editors. */
export interface LanguageRegistry {
  getLanguage(mime: string): Promise<{ support?: { language: Language } } | null>;
}

export interface ExtensionRegistry {
  addExtension(extension: {
    name: string;
    factory: (options: { model: { readonly mimeType: string } }) => {
      instance(): Extension;
      reconfigure(): null;
    };
  }): void;
}
