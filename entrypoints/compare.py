"""Pull the measured cells of many runs into the paper table."""

from typing import Any

import click

from entrypoints.door import OUTPUT, Listed, door, option, tracked, ui_command


@click.command()
@option("experiments", Listed(), "", "Experiments to read; default: the one that mlflow run would use.")
@option("models", Listed(), "", "Only these models.")
@option("datasets", Listed(), "", "Only these data sets.")
@OUTPUT
@door
def main(**o: Any) -> None:
    """Write the mean±std table (CSV, Markdown, LaTeX) and the figures of all finished cells."""
    from crt.studies import compare, results
    from crt.tracking import read_cells

    results.check_output(o["output_dir"])
    cells, names = read_cells(o["experiments"])
    cells = compare.select(cells, models=o["models"], datasets=o["datasets"])
    with tracked("compare", "compare", {"experiments": ",".join(names)}) as (_, tracker):
        assert tracker is not None
        found = compare.publish(tracker, cells, o["output_dir"], figures=not o["no_figures"])
        click.echo(f"read {len(found.cells)} cells of experiment {', '.join(names)}\n\n{found.tables[0].markdown()}")
        click.echo(f"tables and figures: {o['output_dir']}\nsee every run in the browser: {ui_command(tracker)}")


if __name__ == "__main__":
    main()
