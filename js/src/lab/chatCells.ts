/** The look of `%%chat` cells in JupyterLab's editor: wrapped lines of Markdown with mentions, below a line of flags. */
import { chatSyntax, isChatCell, isCommandCell, MAX_BLANK, onMagicLearnt } from "./chatSyntax";
import type {
  CodeMirror,
  EditorView,
  Extension,
  ExtensionRegistry,
  LanguageRegistry,
  ParserInput,
  Text,
} from "./codemirror";

const MARKDOWN = "text/x-ipythongfm";
const PYTHON = /^text\/x-i?python$/;
const NAME = "nbtool-chat-cells";
const LANGUAGE = "nbtool-chat";

/** Of a cell that begins with nbtool's magic: its messages are prose, whose words lab.css does not break. */
const CELL_CLASS = "nb-command-cell";

/** Characters at the start of a cell that say whether it is a `%%chat` cell. */
const MAX_START = MAX_BLANK + 50;

/** Add the colours and the wrapping to every editor of Python that is made from now on. */
export function addChatCells(
  codemirror: CodeMirror,
  extensions: ExtensionRegistry,
  languages: LanguageRegistry,
): void {
  const source = new ChatLanguage(codemirror, languages);
  extensions.addExtension({
    name: NAME,
    factory: ({ model }) => {
      const extension = chatCells(codemirror, source, () => PYTHON.test(model.mimeType));
      return { instance: () => extension, reconfigure: () => null };
    },
  });
}

const NONE: Extension = [];

/**
 * The language of `%%chat` cells, on top of JupyterLab's Markdown; that is loaded for the first such cell. Their lines are
 * wrapped, as those of Markdown cells: they are prose. What a person has set for cells of code stays valid for these.
 */
class ChatLanguage {
  /** What gives a cell the language, once it is loaded, and wraps its lines. */
  extension: Extension;
  #request: Promise<void> | undefined;

  constructor(
    readonly codemirror: CodeMirror,
    readonly languages: LanguageRegistry,
  ) {
    this.extension = codemirror.EditorView.lineWrapping;
  }

  load(): Promise<void> {
    this.#request ??= this.#load();
    return this.#request;
  }

  async #load(): Promise<void> {
    const markdown = (await this.languages.getLanguage(MARKDOWN))?.support?.language;
    if (!markdown) return;
    const { EditorView, Language, Prec, language, tags } = this.codemirror;
    const parser = wholeCellParser(this.codemirror, markdown.parser.configure(chatSyntax(tags)));
    const chat = Prec.highest(language.of(new Language(markdown.data, parser, [], LANGUAGE)));
    this.extension = [EditorView.lineWrapping, chat];
  }
}

/**
 * Return a parser that makes a cell one leaf, and mounts the tree of another parser over it.
 *
 * The colours are those of the mounted tree. JupyterLab's completer looks at the leaves below the first tree only, and
 * offers each as a word: flags, marks and whole paragraphs, whatever stands before the cursor.
 */
function wholeCellParser({ NodeType, Parser, Tree, parseMixed }: CodeMirror, inner: object): object {
  const cell = NodeType.define({ id: 1, name: "ChatCell", top: true });
  const mount = parseMixed(({ from, to }) => ({ parser: inner, overlay: [{ from, to }] }));
  return new (class extends Parser {
    override createParse(input: ParserInput, fragments: object, ranges: object): object {
      const parse = {
        parsedPos: 0,
        stoppedAt: null as number | null,
        stopAt(at: number): void {
          this.stoppedAt = at;
        },
        advance(): object {
          this.parsedPos = this.stoppedAt ?? input.length;
          return new Tree(cell, [], [], this.parsedPos);
        },
      };
      return mount(parse, input, fragments, ranges);
    }
  })();
}

/** Give a cell the language while it is a `%%chat` cell; otherwise it keeps that of the notebook. */
function chatCells(
  { Compartment, EditorState, ViewPlugin }: CodeMirror,
  source: ChatLanguage,
  isPython: () => boolean,
): Extension {
  const isChat = (doc: Text): boolean => isPython() && isChatCell(doc.sliceString(0, MAX_START));
  const compartment = new Compartment();
  const switcher = EditorState.transactionExtender.of(({ startState, newDoc }) => {
    const wanted = isChat(newDoc) ? source.extension : NONE;
    return compartment.get(startState) === wanted ? null : { effects: compartment.reconfigure(wanted) };
  });
  const loader = ViewPlugin.define((view: EditorView) => {
    let isRequested = false;
    const mark = (): void => {
      const isOurs = isPython() && isCommandCell(view.state.doc.sliceString(0, MAX_START));
      view.dom.closest(".jp-Cell")?.classList.toggle(CELL_CLASS, isOurs);
    };
    requestAnimationFrame(mark); // once the editor is in its cell
    const update = (): void => {
      mark();
      if (isRequested || !isChat(view.state.doc)) return;
      isRequested = true; // and a transaction, for a cell that was one from the start
      source.load().then(() => view.dispatch({}), console.warn);
    };
    update();
    return { update, destroy: onMagicLearnt(update) };
  });
  return [compartment.of(NONE), switcher, loader];
}
